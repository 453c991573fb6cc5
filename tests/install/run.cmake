# cmake -D build=... -D work=... -D consumer=... -D compiler=... -D generator=... -D sanitize=... -D model=... -P run.cmake
set(prefix ${work}/prefix)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(flags "")
if(sanitize)
  set(flags "-fsanitize=${sanitize}")
endif()
run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${consumer} -B ${work}/consumer -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
  -D CMAKE_CXX_FLAGS=${flags} -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${work}/consumer)
run(${work}/consumer/consumer ${model})
run(${prefix}/bin/onnxkit check ${model})
execute_process(COMMAND ${prefix}/bin/onnxkit backends OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
if(NOT listed MATCHES "onnxruntime")
  message(FATAL_ERROR "the installed program does not find its workers:\n${listed}")
endif()
# Both modules: the decoders of pictures and the JSON form.
run(${prefix}/bin/onnxkit convert ${model} ${work}/model.json)
run(${prefix}/bin/onnxkit convert ${work}/model.json ${work}/again.onnx)
run(${prefix}/bin/onnxkit run ${model} --input ${picture} --format json)
# A program that is linked with the library finds them, too, and without them says what is missing.
run(${work}/consumer/consumer ${work}/model.json)
file(GLOB_RECURSE modules ${prefix}/*/libonnxkit_json.so)
file(REMOVE ${modules})
execute_process(COMMAND ${prefix}/bin/onnxkit check ${work}/model.json RESULT_VARIABLE status ERROR_VARIABLE error OUTPUT_VARIABLE error)
if(NOT status EQUAL 3 OR NOT error MATCHES "missing-module")
  message(FATAL_ERROR "a missing module is not reported: ${status}, ${error}")
endif()
