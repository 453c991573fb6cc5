
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

SoftmaxSoftmaxx0*
T0
&
IdentityIdentitySoftmax*
T0"ª