
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
3
stackPackx0x1*
N*
T0*

axis
$
IdentityIdentitystack*
T0"ª