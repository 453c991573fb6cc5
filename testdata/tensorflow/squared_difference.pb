
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
7
SquaredDifferenceSquaredDifferencex0x1*
T0
0
IdentityIdentitySquaredDifference*
T0"ª