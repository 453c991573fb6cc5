
M
x0Placeholder*
_user_specified_namex0*
dtype0
*
shape:
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
%
SelectSelectx0x1x2*
T0
%
IdentityIdentitySelect*
T0"ª