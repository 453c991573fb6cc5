"""The messages of caffe2.proto that a small net needs, with the numbers of the real file."""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELDS = {
    "Argument": [("name", 1, "string", 1), ("f", 2, "float", 1), ("i", 3, "int64", 1), ("s", 4, "bytes", 1), ("floats", 5, "float", 3),
                 ("ints", 6, "int64", 3)],
    "OperatorDef": [("input", 1, "string", 3), ("output", 2, "string", 3), ("name", 3, "string", 1), ("type", 4, "string", 1),
                    ("arg", 5, "Argument", 3)],
    "NetDef": [("name", 1, "string", 1), ("op", 2, "OperatorDef", 3), ("type", 3, "string", 1), ("external_input", 7, "string", 3),
               ("external_output", 8, "string", 3)],
}
TYPES = {"string": 9, "float": 2, "int64": 3, "bytes": 12}

file = descriptor_pb2.FileDescriptorProto(name="caffe2.proto", package="caffe2", syntax="proto2")
for message_name, fields in FIELDS.items():
    message = file.message_type.add(name=message_name)
    for name, number, kind, label in fields:
        of_message = kind not in TYPES
        message.field.add(name=name, number=number, label=label, type=11 if of_message else TYPES[kind],
                          type_name=f".caffe2.{kind}" if of_message else None)
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
Argument, OperatorDef, NetDef = (message_factory.GetMessageClass(pool.FindMessageTypeByName(f"caffe2.{name}")) for name in FIELDS)
