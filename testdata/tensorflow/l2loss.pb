
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

L2LossL2Lossx0*
T0
%
IdentityIdentityL2Loss*
T0"ª