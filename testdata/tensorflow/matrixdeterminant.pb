
U
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:
3
MatrixDeterminantMatrixDeterminantx0*
T0
0
IdentityIdentityMatrixDeterminant*
T0"ª