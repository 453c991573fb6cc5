
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:
%

Reciprocal
Reciprocalx0*
T0
)
IdentityIdentity
Reciprocal*
T0"ª