
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

AtanhAtanhx0*
T0
$
IdentityIdentityAtanh*
T0"ª