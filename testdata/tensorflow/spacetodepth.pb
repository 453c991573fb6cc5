
Y
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:
R
SpaceToDepthSpaceToDepthx0*
T0*

block_size*
data_formatNHWC
+
IdentityIdentitySpaceToDepth*
T0"ª