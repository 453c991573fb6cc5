
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

AbsAbsx0*
T0
"
IdentityIdentityAbs*
T0"ª