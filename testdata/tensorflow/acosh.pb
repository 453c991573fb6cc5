
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

AcoshAcoshx0*
T0
$
IdentityIdentityAcosh*
T0"ª