
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

FloorFloorx1*
T0
"
Atan2Atan2x0Floor*
T0
$
IdentityIdentityAtan2*
T0"ª