
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

InvertInvertx0*
T0
%
IdentityIdentityInvert*
T0"ª