
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

AcosAcosx0*
T0
#
IdentityIdentityAcos*
T0"ª