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
