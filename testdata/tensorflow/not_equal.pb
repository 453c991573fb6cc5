
U
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:
M
x1Placeholder*
_user_specified_namex1*
dtype0*
shape:
E
NotEqualNotEqualx0x1*
T0*
incompatible_shape_error(
'
IdentityIdentityNotEqual*
T0
"ª