
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

CoshCoshx0*
T0
#
IdentityIdentityCosh*
T0"ª