
Q
x0Placeholder*
_user_specified_namex0*
dtype0
*
shape
:


LogicalNot
LogicalNotx0
)
IdentityIdentity
LogicalNot*
T0
"ª