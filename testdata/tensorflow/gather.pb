
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:
Q
x1Placeholder*
_user_specified_namex1*
dtype0*
shape
:
O
GatherGatherx0x1*
Tindices0*
Tparams0*
validate_indices(
%
IdentityIdentityGather*
T0"ª