
Q
x0Placeholder*
_user_specified_namex0*
dtype0
*
shape
:
Q
x1Placeholder*
_user_specified_namex1*
dtype0
*
shape
:
 

LogicalAnd
LogicalAndx0x1


LogicalNot
LogicalNotx0
.
	LogicalOr	LogicalOr
LogicalAnd
LogicalNot
(
IdentityIdentity	LogicalOr*
T0
"ª