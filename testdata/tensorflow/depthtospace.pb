
Y
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:
R
DepthToSpaceDepthToSpacex0*
T0*

block_size*
data_formatNHWC
+
IdentityIdentityDepthToSpace*
T0"ª