"""The program of the package: `python -m onnxkit`."""

from onnxkit_program import main

if __name__ == "__main__":
    main()
