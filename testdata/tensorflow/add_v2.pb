
U
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:
M
x1Placeholder*
_user_specified_namex1*
dtype0*
shape:

AddV2AddV2x0x1*
T0
$
IdentityIdentityAddV2*
T0"ª