
]
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:
x
	MaxPool3D	MaxPool3Dx0*
T0*
data_formatNDHWC*
ksize	
*
paddingSAME*
strides	

(
IdentityIdentity	MaxPool3D*
T0"ª