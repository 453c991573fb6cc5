
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

RsqrtRsqrtx0*
T0
$
IdentityIdentityRsqrt*
T0"ª