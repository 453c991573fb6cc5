
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

TanhTanhx0*
T0
#
IdentityIdentityTanh*
T0"ª