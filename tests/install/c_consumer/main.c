/* Checks a model, runs it on the backend cpu with generated inputs, and tells the sizes of its outputs: the example of docs/c-api.md. */
#include <stdio.h>

#include "onnxkit/c_api.h"

static int failed(onnxkit_error* error) {
  fputs(onnxkit_error_text(error), stderr);
  onnxkit_error_free(error);
  return 1;
}

static int run(onnxkit_session* session, const onnxkit_values* inputs) {
  onnxkit_values* outputs = NULL;
  onnxkit_error* error = onnxkit_session_run(session, inputs, NULL, NULL, &outputs);
  if (error) return failed(error);
  for (size_t i = 0; i < onnxkit_values_count(outputs); ++i) {
    onnxkit_value* value = onnxkit_values_get(outputs, i);
    printf("%s: %zu bytes\n", onnxkit_values_name(outputs, i), onnxkit_value_size(value));
    onnxkit_value_free(value);
  }
  onnxkit_values_free(outputs);
  return 0;
}

static int use(const onnxkit_model* model) {
  onnxkit_text* report = NULL;
  onnxkit_error* error = onnxkit_check(model, "{\"suppress\": [\"unused-node\"]}", &report);
  if (error) return failed(error);
  puts(onnxkit_text_data(report));
  onnxkit_text_free(report);

  onnxkit_values* inputs = NULL;
  error = onnxkit_generate_inputs(model, NULL, NULL, NULL, &inputs);
  if (error) return failed(error);
  onnxkit_session* session = NULL;
  error = onnxkit_session_open(model, "{\"backend\": \"cpu\", \"threads\": 1}", NULL, &session);
  const int status = error ? failed(error) : run(session, inputs);
  onnxkit_session_free(session);
  onnxkit_values_free(inputs);
  return status;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  onnxkit_model* model = NULL;
  onnxkit_error* error = onnxkit_model_read(argv[1], NULL, &model, NULL);
  if (error) return failed(error);
  const int status = use(model);
  onnxkit_model_free(model);
  return status;
}
