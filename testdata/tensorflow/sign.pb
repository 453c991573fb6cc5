
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

SignSignx0*
T0
#
IdentityIdentitySign*
T0"ª