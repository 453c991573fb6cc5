
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

SinSinx0*
T0
"
IdentityIdentitySin*
T0"ª