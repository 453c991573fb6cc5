// The shared library is made of the static layers; CMake wants one source of its own.
