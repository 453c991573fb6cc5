
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

ErfErfx0*
T0
"
IdentityIdentityErf*
T0"ª