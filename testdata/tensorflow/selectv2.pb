
Q
x0Placeholder*
_user_specified_namex0*
dtype0
*
shape
:
Q
x1Placeholder*
_user_specified_namex1*
dtype0*
shape
:
M
x2Placeholder*
_user_specified_namex2*
dtype0*
shape:
)
SelectV2SelectV2x0x1x2*
T0
'
IdentityIdentitySelectV2*
T0"ª