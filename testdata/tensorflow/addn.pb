
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:
Q
x1Placeholder*
_user_specified_namex1*
dtype0*
shape
:
Q
x2Placeholder*
_user_specified_namex2*
dtype0*
shape
:
*
AddNAddNx0x1x2*
N*
T0
#
IdentityIdentityAddN*
T0"ª