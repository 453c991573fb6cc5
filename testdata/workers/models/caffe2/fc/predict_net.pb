
predict
data
w1
b1h"FC
hh"Relu
h
w2
b2s"FC
sprob"Sigmoid:data:w1:b1:w2:b2Bprob