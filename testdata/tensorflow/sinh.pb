
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

SinhSinhx0*
T0
#
IdentityIdentitySinh*
T0"ª