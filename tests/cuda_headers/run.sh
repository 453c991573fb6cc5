#!/usr/bin/env bash
# Compiles every *.cpp beside this script with NVIDIA's headers: run.sh COMPILER
set -euo pipefail
passed=0
for root in "${CUDA_HOME:-}" /usr/local/cuda; do
  [ -n "$root" ] && [ -f "$root/include/cuda.h" ] && [ -f "$root/include/nvrtc.h" ] || continue
  for file in tests/cuda_headers/*.cpp; do
    "$1" -std=c++20 -fsyntax-only -w -I. -Ilibonnxkit/include -isystem "$root/include" "$file"
    passed=$((passed + 1))
  done
  break
done
if [ "$passed" = 0 ]; then
  echo "skipped: cuda.h and nvrtc.h are not installed: 1 cases"
  echo "1 skipped"
fi
echo "$passed passed, 0 failed"
