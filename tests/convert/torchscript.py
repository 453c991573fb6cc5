"""Modules of TorchScript in testdata/torchscript: each becomes ONNX that `check` accepts and that gives what PyTorch gave, by the noise floor.

    tests/convert/torchscript.py --program onnxkit [NAME...]
"""
import sys

import recorded

SHAPES = {"calls": "x=3,4", "spectrogram_scripted": "x=2,40", "condition_met": "x=3,4", "condition_not_met": "x=N,4", "unrolled": "x=rows,4", "writes_through_dropout": "x=3,4", "sizes": "x=N,3,H,W",
          "lstm": "x=N,T,4", "encoder_layer": "src=N,T,8", "size_arithmetic": "x=N,3,5,7:float32",
          "loop": "x=3,4", "branch_numbers": "x=N,4", "counted_loop": "x=3,4 n=:int64", "no_pass": "x=3,N n=:int64", "growing_loop": "x=N,4", "left_loop": "x=3,4",
          "list_in_loop": "x=3,4 n=:int64", "lists_of_loops": "x=3,4 n=:int64", "write_in_loop": "x=3,4 n=:int64", "write_in_branch": "x=N,4", "write_in_other_branch": "x=3,4",
          "writes_of_loops": "x=3,4 n=:int64", "without_gradients": "x=3,4", "writes_of_branch": "x=3,4 n=:int64",
          "containers_scripted": "pair.0=3,4 pair.1=3,4 rows.0=3,4 rows.1=3,4 by_name.scale=3,4",
          "nested_containers": "states.0.0=3,4 states.0.1=3,4 states.1.0=3,4 states.1.1=3,4 x=3,4", "recurrent_cells": "x=T,2,4 state.0=2,3 state.1=2,3",
          "nested_loop": "x=3,4 n=:int64", "buffer_written": "x=3,4", "buffer_replaced": "x=3,4",
          "asks_for_ranks": "x=N,3,5,7", "early_returns": "x=N,4", "early_returns_not": "x=3,4", "ranges": "x=N,4", "numbers_of_sizes": "x=N,2",
          "encoder_with_masks": "x=N,T,8", "cells_in_open_loop": "x=T,2,4", "makes_containers": "x=3,4", "checks": "x=N,4 lengths=4:int64", "masked_attention": "x=N,T,8 hidden=N,T:bool",
          "rnn": "x=N,T,4", "losses_scripted": "x=N,4 classes=N:int64", "blocks_and_back": "x=N,3,6,8", "embedding_bag_scripted": "input=N,3:int64",
          "distances_scripted": "x=N,3 y=3,3", "combinations_scripted": "x=N,3 theta=2,2,3", "margins_scripted": "x=N,4 y=N,4 classes=N:int64", "values": "x=3,4", "streaming": "x=2,1,T", "objects": "x=3,4 by_name.b=2,4 by_name.a=3,4",
          "types": "x=2,10", "packed_sequences": "x=N,T,4 lengths=N:int64", "lstm_scripted": "input=T,N,4", "enumerated": "x=N,4", "boxes": "x=1,2,10,12 boxes=N,4 scores=N",
          "many_boxes": "boxes=N,4 scores=N classes=N:int64"}
VALUES = {"values": "n=3 sizes=2,6 mode=fast", "streaming": "sr=8000 rate=8000"}


def options_of(name):
    shapes, values = SHAPES.get(name, "").split(), VALUES.get(name, "").split()
    return [word for shape in shapes for word in ("--input-shape", shape)] + [word for value in values for word in ("--set", value)]



if __name__ == "__main__":
    sys.exit(recorded.main(__doc__, "testdata/torchscript", ".pt", options_of=options_of))
