
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

CeilCeilx0*
T0
#
IdentityIdentityCeil*
T0"ª