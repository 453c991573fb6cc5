
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

FloorFloorx0*
T0
$
IdentityIdentityFloor*
T0"ª