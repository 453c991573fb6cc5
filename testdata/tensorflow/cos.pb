
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

CosCosx0*
T0
"
IdentityIdentityCos*
T0"ª