
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

AsinhAsinhx0*
T0
$
IdentityIdentityAsinh*
T0"ª