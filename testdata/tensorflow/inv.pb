
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

InvInvx0*
T0
"
IdentityIdentityInv*
T0"ª