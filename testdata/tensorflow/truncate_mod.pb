
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
+
TruncateModTruncateModx0x1*
T0
*
IdentityIdentityTruncateMod*
T0"ª