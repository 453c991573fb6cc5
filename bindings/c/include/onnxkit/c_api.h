#ifndef ONNXKIT_C_API_H
#define ONNXKIT_C_API_H

/*
 * onnxkit for programs in C, and for languages that call C (docs/c-api.md).
 *
 * Handles are opaque. Functions that can fail return NULL or an error, which the caller frees with onnxkit_error_free; their results are
 * set on success only. Each handle that a function gives is the caller's, to be freed by the function of its type, which takes NULL, too.
 * Options and reports are JSON in UTF-8. Options are an object, NULL for none; a member that a function does not know is the error usage. Reports are those
 * of the commands' `--format json`, with one model each (share/onnxkit/json).
 * Handles may be used by several threads as long as none of them changes or frees what another uses. Nothing is printed.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ONNXKIT_C_API __attribute__((visibility("default")))

typedef struct onnxkit_error onnxkit_error;     /* why a function gave no result */
typedef struct onnxkit_text onnxkit_text;       /* bytes that the library made */
typedef struct onnxkit_stop onnxkit_stop;       /* ends a call from another thread */
typedef struct onnxkit_model onnxkit_model;     /* a model in memory */
typedef struct onnxkit_value onnxkit_value;     /* a tensor, sequence, optional or map; never changes */
typedef struct onnxkit_values onnxkit_values;   /* values with names, in an order */
typedef struct onnxkit_session onnxkit_session; /* a model that is ready to run on a backend */

/* ---- library */

/* Version of the library: "0.1.0". */
ONNXKIT_C_API const char* onnxkit_version_text(void);

/* ---- errors */

/* What a caller can do about an error: onnxkit/error.h of the C++ interface. New kinds may come. */
typedef enum onnxkit_error_kind {
  ONNXKIT_ERROR_INTERNAL = 0,    /* a fault of this library */
  ONNXKIT_ERROR_USAGE = 1,       /* the caller named something that does not exist or does not fit */
  ONNXKIT_ERROR_INPUT = 2,       /* a model or a value is not what it must be */
  ONNXKIT_ERROR_UNSUPPORTED = 3, /* valid, but this library or this backend cannot do it */
  ONNXKIT_ERROR_LIMIT = 4,       /* a limit of time, memory or iterations was reached */
  ONNXKIT_ERROR_CANCELLED = 5,   /* stopped by the caller */
  ONNXKIT_ERROR_BACKEND = 6,     /* a runtime outside this library failed */
  ONNXKIT_ERROR_IO = 7,          /* the system could not read or write */
  ONNXKIT_ERROR_CONFLICT = 8     /* an output is in the way; nothing was changed */
} onnxkit_error_kind;

ONNXKIT_C_API onnxkit_error_kind onnxkit_error_get_kind(const onnxkit_error* error);
/* Stable: "shape-mismatch", "cannot-read" ... Texts of an error live as long as it. */
ONNXKIT_C_API const char* onnxkit_error_code(const onnxkit_error* error);
/* One line for people. */
ONNXKIT_C_API const char* onnxkit_error_message(const onnxkit_error* error);
/* With place, expected, found, notes and help, over several lines; what could steer a terminal is escaped. */
ONNXKIT_C_API const char* onnxkit_error_text(const onnxkit_error* error);
/* As a finding of docs/json/check.schema.json. */
ONNXKIT_C_API const char* onnxkit_error_json(const onnxkit_error* error);
ONNXKIT_C_API void onnxkit_error_free(onnxkit_error* error);

/* ---- texts */

/* The bytes, with a zero behind them that does not count. */
ONNXKIT_C_API const char* onnxkit_text_data(const onnxkit_text* text);
ONNXKIT_C_API size_t onnxkit_text_size(const onnxkit_text* text);
ONNXKIT_C_API void onnxkit_text_free(onnxkit_text* text);

/* ---- stopping */

/* NULL without memory. Must outlive the calls that it was given to. */
ONNXKIT_C_API onnxkit_stop* onnxkit_stop_new(void);
/* From any thread: calls that were given it end with the error cancelled, or with what was finished before. */
ONNXKIT_C_API void onnxkit_stop_request(onnxkit_stop* stop);
ONNXKIT_C_API void onnxkit_stop_free(onnxkit_stop* stop);

/* ---- models
 *
 * Options that several functions take:
 *   "dims"    sizes of dimensions, {"batch": 8, "x[1]": 16}: names of dimensions, or INPUT[AXIS]
 *   "schemas" YAML schema packs for operators of further domains, ["pack.yaml"] (docs/schemas.md)
 *   "allow_outside_data" true: external data may lie outside the model's folder
 */

/*
 * Reads a model of any format that onnxkit reads, valid or not. Options: "format" (binary, text, json, pt2, torchscript, tflite, saved-model ...;
 * without it the one that name and content fit best), "signature", "values" ({"rate": "16000"}), and "shapes" of inputs that the file does not state,
 * {"x": ["N", 3, 224, 224]} or {"x": {"sizes": [...], "type": "float16"}}. `findings`, unless NULL, takes what the reader has to say, also
 * when reading fails: a JSON array of findings of docs/json/check.schema.json.
 */
ONNXKIT_C_API onnxkit_error* onnxkit_model_read(const char* path, const char* options, onnxkit_model** model,
                                                onnxkit_text** findings);
/* As onnxkit_model_read, of bytes, which are copied. `name` is what findings call the model. */
ONNXKIT_C_API onnxkit_error* onnxkit_model_read_bytes(const void* bytes, size_t size, const char* name,
                                                      const char* options, onnxkit_model** model,
                                                      onnxkit_text** findings);
/*
 * Writes a model and its data files, each complete or not at all. Options: "format" (without it by the name of the file), "weights" ("keep", "embed",
 * "extract"), "data_file", "file_per_tensor", "threshold" (bytes), "force", "allow_outside_data". `findings` as above, of the writer.
 */
ONNXKIT_C_API onnxkit_error* onnxkit_model_write(const onnxkit_model* model, const char* path, const char* options,
                                                 onnxkit_text** findings);
/* The model as bytes. Options: "format" (binary unless given), "weights" ("keep", "embed"), "allow_outside_data". */
ONNXKIT_C_API onnxkit_error* onnxkit_model_bytes(const onnxkit_model* model, const char* options, onnxkit_text** bytes);
/* What the main graph declares, as onnxkit_session_describe tells it: {"inputs": [...], "outputs": [...]}. */
ONNXKIT_C_API onnxkit_error* onnxkit_model_describe(const onnxkit_model* model, onnxkit_text** description);
/* A copy shares text and weights with the original and costs the graph only. NULL without memory. */
ONNXKIT_C_API onnxkit_model* onnxkit_model_copy(const onnxkit_model* model);
ONNXKIT_C_API void onnxkit_model_free(onnxkit_model* model);

/* ---- what the commands do; reports as of `--format json` */

/* Options: "targets", "suppress" (codes), "suppress_nodes" ({"node": "code"}), "inspect_weights", "verify_checksums", "dims", "schemas", "allow_outside_data". */
ONNXKIT_C_API onnxkit_error* onnxkit_check(const onnxkit_model* model, const char* options, onnxkit_text** report);
/* Fixes what is safe to fix, in the model. The report is the array "fixed" of the report of check. Options: "schemas". */
ONNXKIT_C_API onnxkit_error* onnxkit_fix(onnxkit_model* model, const char* options, onnxkit_text** report);
/* Writes types and shapes into the model. Options: "dims", "schemas", "assume_defaults". */
ONNXKIT_C_API onnxkit_error* onnxkit_infer(onnxkit_model* model, const char* options, onnxkit_text** report);
/* Options: "dims", "schemas", "values" (true: also look at what weights hold). */
ONNXKIT_C_API onnxkit_error* onnxkit_inspect(const onnxkit_model* model, const char* options, onnxkit_text** report);
/*
 * Moves the model to other versions of operator sets and compares it with what it was. When that is refused, or the results differ, the report says so
 * ("refusals", "verified") and the model stays as it was. Options: "opset" (21, or {"ai.onnx": 21, "ai.onnx.ml": 5}; needed), "ir_version", "align_corners" ("refuse",
 * "scaled-length", "result-size"), "verify" (true, false, or "required": a model whose runs cannot be compared is refused), "verify_ms", "verify_bytes",
 * "threads", "dims", "schemas", "allow_outside_data".
 */
ONNXKIT_C_API onnxkit_error* onnxkit_change_opset(onnxkit_model* model, const char* options, onnxkit_text** report);
/*
 * Fewer nodes that compute the same. What is refused ("refusal" of the report) or gives other results ("verified") stays as it was. Options: "without", "with" (names of simplifications), "fix_defaults",
 * "most_growth" (bytes), and those from "verify" on above.
 */
ONNXKIT_C_API onnxkit_error* onnxkit_simplify(onnxkit_model* model, const char* options, onnxkit_text** report);
/* The part of the model between some values. Options: "from", "to" (names of values), "schemas". */
ONNXKIT_C_API onnxkit_error* onnxkit_extract(const onnxkit_model* model, const char* options, onnxkit_model** part,
                                             onnxkit_text** report);
/* Options: "names" (["Resize", "com.microsoft::Gelu"]), "domain", "targets" (true: also who runs which version), "schemas". */
ONNXKIT_C_API onnxkit_error* onnxkit_ops(const char* options, onnxkit_text** report);
/* What can run models here. Options: those of workers, below. */
ONNXKIT_C_API onnxkit_error* onnxkit_backends(const char* options, onnxkit_text** report);

/* ---- values */

typedef enum onnxkit_value_kind {
  ONNXKIT_VALUE_NONE = 0,
  ONNXKIT_VALUE_TENSOR = 1,
  ONNXKIT_VALUE_SEQUENCE = 2,
  ONNXKIT_VALUE_OPTIONAL = 3,
  ONNXKIT_VALUE_MAP = 4
} onnxkit_value_kind;

/*
 * A tensor of numbers, copied from `bytes`: little-endian and packed as TensorProto.raw_data packs them. `element_type` is a number of TensorProto.DataType
 * (1: float, 7: int64 ...). `size` must be what type and dims ask for, or the error is tensor-size.
 */
ONNXKIT_C_API onnxkit_error* onnxkit_value_tensor(int32_t element_type, const int64_t* dims, size_t rank,
                                                  const void* bytes, size_t size, onnxkit_value** value);
/* A tensor of strings, which may hold any bytes; sizes[i] is the length of strings[i]. */
ONNXKIT_C_API onnxkit_error* onnxkit_value_strings(const int64_t* dims, size_t rank, const char* const* strings,
                                                   const size_t* sizes, size_t count, onnxkit_value** value);
/* Items stay the caller's. `element_type` is that of an empty sequence's elements, 0 when not known. */
ONNXKIT_C_API onnxkit_error* onnxkit_value_sequence(const onnxkit_value* const* items, size_t count,
                                                    int32_t element_type, onnxkit_value** value);
/* `content` NULL: an empty optional. */
ONNXKIT_C_API onnxkit_error* onnxkit_value_optional(const onnxkit_value* content, int32_t element_type,
                                                    onnxkit_value** value);
/* `keys` is a tensor of one axis of int64 or strings, `values` a tensor with a value for each key. */
ONNXKIT_C_API onnxkit_error* onnxkit_value_map(const onnxkit_value* keys, const onnxkit_value* values,
                                               onnxkit_value** value);
ONNXKIT_C_API void onnxkit_value_free(onnxkit_value* value);

ONNXKIT_C_API onnxkit_value_kind onnxkit_value_get_kind(const onnxkit_value* value);
/* Of a tensor; of a sequence or optional what it declares. 0 where there is none. */
ONNXKIT_C_API int32_t onnxkit_value_element_type(const onnxkit_value* value);
/* Of a tensor; other kinds have rank 0 and no bytes. Pointers live as long as the value. */
ONNXKIT_C_API size_t onnxkit_value_rank(const onnxkit_value* value);
ONNXKIT_C_API const int64_t* onnxkit_value_dims(const onnxkit_value* value);
ONNXKIT_C_API const void* onnxkit_value_bytes(const onnxkit_value* value);
ONNXKIT_C_API size_t onnxkit_value_size(const onnxkit_value* value);
/* Of a tensor of strings: how many, and one of them with its length. */
ONNXKIT_C_API size_t onnxkit_value_string_count(const onnxkit_value* value);
ONNXKIT_C_API const char* onnxkit_value_string(const onnxkit_value* value, size_t index, size_t* size);
/* Of a sequence, of an optional (0 or 1), and of a map (2: its keys and its values). */
ONNXKIT_C_API size_t onnxkit_value_item_count(const onnxkit_value* value);
/* A handle of its own, which shares the content. NULL beyond the last, or without memory. */
ONNXKIT_C_API onnxkit_value* onnxkit_value_item(const onnxkit_value* value, size_t index);

/* NULL without memory. */
ONNXKIT_C_API onnxkit_values* onnxkit_values_new(void);
/* The value stays the caller's. */
ONNXKIT_C_API onnxkit_error* onnxkit_values_add(onnxkit_values* values, const char* name, const onnxkit_value* value);
ONNXKIT_C_API size_t onnxkit_values_count(const onnxkit_values* values);
/* NULL beyond the last. */
ONNXKIT_C_API const char* onnxkit_values_name(const onnxkit_values* values, size_t index);
/* A handle of its own. NULL beyond the last, or without memory. */
ONNXKIT_C_API onnxkit_value* onnxkit_values_get(const onnxkit_values* values, size_t index);
ONNXKIT_C_API void onnxkit_values_free(onnxkit_values* values);

/* ---- running
 *
 * Options that functions below take for backends in processes of their own (docs/backends.md):
 *   "python"          the interpreter that has the runtimes' packages; python3 unless given
 *   "worker_folders"  where further worker programs are
 *   "trust_files"     true: model files may run code when a runtime loads them
 *   "start_ms", "load_ms", "run_ms", "worker_bytes"  what a worker may take
 */

/*
 * Loads a model on a backend. Options: "backend" ("reference" unless given, "cpu", "cuda", "onnxruntime:optimization=none" ...), "threads",
 * "memory_bytes", "time_ms", "iterations" (of each run), "unrounded", "allow_outside_data", "schemas", and those of workers. The session keeps what it
 * needs of the model. `stop` may be NULL.
 */
ONNXKIT_C_API onnxkit_error* onnxkit_session_open(const onnxkit_model* model, const char* options,
                                                  const onnxkit_stop* stop, onnxkit_session** session);
/*
 * {"inputs": [{"name", "kind", "type", "dims", "has_default"}], "outputs": [...], "warnings": [...]}; "type" is left out where it is not known, so is "dims", whose
 * open sizes are null.
 */
ONNXKIT_C_API onnxkit_error* onnxkit_session_describe(const onnxkit_session* session, onnxkit_text** description);
/* One run at a time. Options: "outputs" (names, in the order wanted), "seed". `stop` may be NULL. */
ONNXKIT_C_API onnxkit_error* onnxkit_session_run(onnxkit_session* session, const onnxkit_values* inputs,
                                                 const char* options, const onnxkit_stop* stop,
                                                 onnxkit_values** outputs);
ONNXKIT_C_API void onnxkit_session_free(onnxkit_session* session);

/*
 * A value for each input that needs one: what is given, else generated to fit the graph. `given` may be NULL. Options: "dims", "seed", "memory_bytes", "time_ms",
 * "schemas".
 */
ONNXKIT_C_API onnxkit_error* onnxkit_generate_inputs(const onnxkit_model* model, const onnxkit_values* given,
                                                     const char* options, const onnxkit_stop* stop,
                                                     onnxkit_values** inputs);

/*
 * What a backend makes of a model for inputs of these sizes (docs/json/plan.schema.json); `inputs` may be NULL or lack some. Options: "backend" ("cpu" unless
 * given), "dims", "seed", "threads", "memory_bytes", "time_ms", "allow_outside_data", "schemas", and those of workers.
 */
ONNXKIT_C_API onnxkit_error* onnxkit_plan(const onnxkit_model* model, const onnxkit_values* inputs, const char* options,
                                          const onnxkit_stop* stop, onnxkit_text** report);

/*
 * Runs models on backends and judges their outputs by the noise floor: each of `models` on each of "backends" (the reference and ONNX Runtime for one model, the
 * reference for several, unless given), and files of other frameworks, "files": ["torch:net.pt2"]. The first side is what others are compared with. `sets` are
 * sets of inputs, which may be incomplete; without any, "samples" (1 unless given) are generated. Further options: "dims", "seed", "rtol", "atol", "tolerances"
 * ({"output": {"rtol", "atol"}}), "tasks", "scores", "names", "layers", "bisect", "passes" (as `diff --self`), "repeat", "warmup", "threads", "memory_bytes",
 * "schemas", "allow_outside_data", and those of workers. The report is that of `onnxkit diff`.
 */
ONNXKIT_C_API onnxkit_error* onnxkit_diff(const onnxkit_model* const* models, size_t model_count,
                                          const onnxkit_values* const* sets, size_t set_count, const char* options,
                                          const onnxkit_stop* stop, onnxkit_text** report);

/*
 * Measures how long models take, round by round in random order (docs/bench.md): sides as for onnxkit_diff, on one set of inputs, which may be NULL or lack some.
 * Options: "backends", "files", "dims", "seed", "threads" (of every backend that has this option), "precision_goal" (0.02 unless given), "max_seconds" (30),
 * "profile", "all_runs" (their times, not those of 21 in each round), "judge" (true: outputs are compared with the reference), "memory_bytes",
 * "allow_outside_data", "schemas", and those of workers. The report is that of `onnxkit bench` with one model.
 */
ONNXKIT_C_API onnxkit_error* onnxkit_bench(const onnxkit_model* const* models, size_t model_count,
                                           const onnxkit_values* inputs, const char* options, const onnxkit_stop* stop,
                                           onnxkit_text** report);
/*
 * A report of onnxkit_bench, or of `onnxkit bench --format json`, in another form. Options: "format" ("text" unless given, "markdown", "csv", "json"; "html" is a page,
 * "trace" what Perfetto opens), "before" (an older report, as text: what has changed since), "max_slowdown" (0.05 unless given: from where on a change counts as
 * slower).
 */
ONNXKIT_C_API onnxkit_error* onnxkit_bench_format(const char* report, size_t size, const char* options,
                                                  onnxkit_text** text);

#ifdef __cplusplus
}
#endif

#endif /* ONNXKIT_C_API_H */
