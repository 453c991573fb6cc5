
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

Expm1Expm1x0*
T0
$
IdentityIdentityExpm1*
T0"ª