
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:
Q
x1Placeholder*
_user_specified_namex1*
dtype0*
shape
:
'
	LeftShift	LeftShiftx0x1*
T0
(
IdentityIdentity	LeftShift*
T0"ª