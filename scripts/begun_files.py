"""What scripts/new_op, new_rule and new_mapping share: names of files, and files that are begun together or not at all."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def snake_case(name):
    """LayerNormalization -> layer_normalization, GRU -> gru, LSTMCell -> lstm_cell"""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def begin(texts):
    """Writes texts by their paths in the repository; ends the program, with nothing written, when one of them exists."""
    for path in texts:
        if (ROOT / path).exists():
            sys.exit(f"{path} exists already")
    for path, text in texts.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)
        print(f"wrote {path}")
