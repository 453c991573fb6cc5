
U
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:
U
x1Placeholder*
_user_specified_namex1*
dtype0*
shape:
M
einsum/EinsumEinsumx0x1*
N*
T0*
equationbij,bkj->bik
,
IdentityIdentityeinsum/Einsum*
T0"ª