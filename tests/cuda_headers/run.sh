#!/usr/bin/env bash
# Compiles every *.cpp beside this script with NVIDIA's headers: run.sh COMPILER
set -euo pipefail
for root in "${CUDA_HOME:-}" /usr/local/cuda; do
  [ -n "$root" ] && [ -f "$root/include/cuda.h" ] && [ -f "$root/include/nvrtc.h" ] || continue
  for file in tests/cuda_headers/*.cpp; do
    "$1" -std=c++20 -fsyntax-only -w -I. -Ilibonnxkit/include -isystem "$root/include" "$file"
  done
  echo "the declarations are those of $root"
  exit 0
done
echo "skipped: cuda.h and nvrtc.h are not installed"
