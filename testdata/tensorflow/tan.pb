
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

TanTanx0*
T0
"
IdentityIdentityTan*
T0"ª