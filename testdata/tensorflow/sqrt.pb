
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

SqrtSqrtx0*
T0
#
IdentityIdentitySqrt*
T0"ª