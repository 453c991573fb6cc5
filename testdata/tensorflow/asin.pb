
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

AsinAsinx0*
T0
#
IdentityIdentityAsin*
T0"ª